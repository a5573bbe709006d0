// RUN: npuflow-opt %s --npuflow-specialize-shapes="shapes=%arg0=8x?,%arg1=4,%arg2=0x4,%arg3=4,%arg9=4,@f:%arg0=3x4,@g:%arg0=4" --verify-diagnostics --split-input-file
// RUN: not npuflow-opt %s --specialize=arg0=4 2>&1 | filecheck %s --check-prefix=TEXT

// TEXT: error: 'arg0=4' is no shape of an argument; hint: --specialize=%arg0=128x256,@f:%arg1=?x64, one size or ? per dimension

// expected-error @below {{unknown function '@g'}}
module {
  // expected-error @below {{@f has 4 arguments, so that there is no %arg9; hint: arguments are called %arg0, %arg1 and so on, in order, whatever the input calls them}}
  func.func @f(
      // expected-error @below {{@f:%arg0=3x4: size 3 of dimension 0 is 8 in the argument's type (tensor<8x?xf32>); hint: only dynamic sizes can be chosen}}
      %a: tensor<?x?xf32>,
      // expected-error @below {{%arg1=4: 1 sizes for 2 dimensions (tensor<?x?xf32>); hint: give one size or ? per dimension}}
      %b: tensor<?x?xf32>,
      // expected-error @below {{%arg2=0x4: size 0 is not positive; hint: give sizes from 1 on}}
      %c: tensor<?x4xf32>,
      // expected-error @below {{%arg3=4: the argument is no tensor with dimensions (f32); hint: leave it out}}
      %d: f32) {
    return
  }
}
