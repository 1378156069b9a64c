/** Why an object that a pod refers to cannot be had. */
export interface LookUpFailure {
  /** What is not found may be optional; any other failure is one. */
  readonly code: "not-found" | "failed";
  readonly message: string;
}
