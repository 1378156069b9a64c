/** What the node's object says about volumes. */
export interface Attachments {
  /** A controller attaches and detaches volumes, not this node. */
  readonly byController: boolean;
  /** The device paths by unique name; undefined until the node has been read. */
  readonly attached: ReadonlyMap<string, string> | undefined;
  /** The unique names that its status reports as in use; empty until it has been read. */
  readonly reportedInUse: readonly string[];
}
