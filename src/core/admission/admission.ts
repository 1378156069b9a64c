/** Whether the node takes a pod; if not, `reason` and `message` become the failed pod's status. */
export type AdmissionResult =
  | { readonly admit: true }
  | { readonly admit: false; readonly reason: string; readonly message: string };

export const admitted: AdmissionResult = { admit: true };

export function rejected(reason: string, message: string): AdmissionResult {
  return { admit: false, reason, message };
}
