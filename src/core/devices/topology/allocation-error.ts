/** The reason of a pod that could get what it asks for, but not near each other. */
export const misalignedReason = "TopologyAffinityError";

/** Why a container cannot get what it asks for. */
export interface AllocationError {
  readonly message: string;
  /** The reason in the pod's status where it is one of the expected ones. */
  readonly reason?: string;
}

export interface AdmissionFailure {
  readonly reason: string;
  readonly message: string;
  /** What was found where; a status does not show it. */
  readonly because?: string;
}

/** What the status of a pod shows that is not admitted because of it. */
export function admissionFailure({ message, reason }: AllocationError): AdmissionFailure {
  return reason === undefined
    ? {
        reason: "UnexpectedAdmissionError",
        message: `Allocate failed due to ${message}, which is unexpected`,
      }
    : { reason, message };
}
