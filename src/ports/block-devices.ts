/** A loop device that is in use. */
export interface LoopDevice {
  /** Such as /dev/loop3. */
  readonly device: string;
  /** What it is attached to, as it was named then. */
  readonly backingFile: string;
}

/** Device nodes and loop devices. Only names and numbers are looked at: no device is opened. */
export interface BlockDevices {
  /** What lies at a path of the agent's own, a link itself and not what it leads to; undefined when nothing does. */
  entryAt(path: string): Promise<"device" | "link" | "folder" | "file" | undefined>;
  /** major:minor of a device node, links followed; undefined when there is none. */
  deviceNumber(path: string): Promise<string | undefined>;
  /** The device nodes that a folder itself has: one that is only bound over a file is not among them. */
  deviceNodes(folder: string): Promise<readonly string[]>;
  /** In the order of their names. */
  loopDevices(): Promise<readonly LoopDevice[]>;
}
