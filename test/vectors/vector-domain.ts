/** One domain of vectors: how an input of that domain reaches the production code. */
export interface VectorDomain {
  readonly name: string;
  /** Answers in the encoding of `expected`; a promise where the code under test is asynchronous. */
  readonly run: (input: unknown) => unknown;
  /** Replaces what cannot be equal by the vectors' own documentation (e.g. a Go-specific hash). */
  readonly comparable?: (value: unknown, input: unknown) => unknown;
}

/** Declares a domain; `Input` is the documented encoding, which the vector files are trusted to have. */
export function vectorDomain<Input>(
  name: string,
  run: (input: Input) => unknown,
  comparable?: (value: unknown, input: Input) => unknown,
): VectorDomain {
  return {
    name,
    run: (input) => run(input as Input),
    ...(comparable === undefined
      ? {}
      : { comparable: (value, input) => comparable(value, input as Input) }),
  };
}
