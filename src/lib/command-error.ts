/** A program that could not be run to its end. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly reason: "not-found" | "timed-out" | "failed";

  constructor(reason: CommandError["reason"], message: string) {
    super(message);
    this.reason = reason;
  }
}
