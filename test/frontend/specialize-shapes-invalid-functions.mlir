// RUN: npuflow-opt %s --npuflow-specialize-shapes="shapes=%arg0=4,@called:%arg0=4" --verify-diagnostics

// expected-error @below {{%arg0=4 doesn't say which of 2 functions it is for; hint: name it, as @called:%arg0=4}}
module {
  // expected-error @below {{@called is called, so that its arguments have to stay; hint: inline it first (--inline)}}
  func.func private @called(%a: tensor<?xf32>) -> tensor<?xf32> {
    return %a : tensor<?xf32>
  }
  func.func @caller(%a: tensor<?xf32>) -> tensor<?xf32> {
    %r = func.call @called(%a) : (tensor<?xf32>) -> tensor<?xf32>
    return %r : tensor<?xf32>
  }
}
