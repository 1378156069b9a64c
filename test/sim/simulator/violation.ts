/** A promise of the agent's design that did not hold. */
export class Violation extends Error {
  override readonly name = "Violation";
}
