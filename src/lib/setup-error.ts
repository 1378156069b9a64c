/** Something about the machine or the given options keeps Berth from running; the message says what to do. */
export class SetupError extends Error {
  override readonly name = "SetupError";

  constructor(problem: string, fix: string, options?: ErrorOptions) {
    super(`${problem}: ${fix}`, options);
  }
}
