irdl.dialect @plane {
  irdl.operation @point {
    %0 = irdl.is i32
    irdl.results(where: %0)
  }
}
