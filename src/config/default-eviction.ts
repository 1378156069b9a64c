/** What a kubelet with a configuration file keeps free on Linux unless the file says otherwise. */
export const defaultEvictionHard: Readonly<Record<string, string>> = {
  "imagefs.available": "15%",
  "imagefs.inodesFree": "5%",
  "memory.available": "100Mi",
  "nodefs.available": "10%",
  "nodefs.inodesFree": "5%",
};
