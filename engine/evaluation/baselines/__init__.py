"""What came before, on the same data: each a function from an object to something inverse kinematics can pose."""
