/** The node settings of all contenders, and the bare client's pods get as well. */
export const benchNode = "bench-node";
export const benchClusterDns = "10.96.0.10";
export const benchClusterDomain = "cluster.local";
