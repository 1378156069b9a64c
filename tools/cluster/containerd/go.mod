// Not a program of its own: the version of containerd that the tests of CDI devices run with.
module berth.test/containerd

go 1.26.0

require github.com/containerd/containerd v1.7.35
