import { parseJsonText } from "../../src/lib/json-text.ts";

/** Why the agent did not give what was asked for. `message` is for the user. */
export type Failure =
  /** Not logged in, or no longer. */
  | { readonly kind: "logged-out"; readonly message: string }
  /** It answered, with this status. */
  | { readonly kind: "refused"; readonly status: number; readonly message: string }
  /** It did not answer. */
  | { readonly kind: "unreachable"; readonly message: string };

export const unreachable: Failure = {
  kind: "unreachable",
  message: "the agent does not answer",
};

/** Of an answer that is not a success: the agent says why in a Status object. */
export async function failureOf(response: Response): Promise<Failure> {
  const { status } = response;
  const message = messageOf(await response.text().catch(() => "")) ?? `HTTP status ${status}`;
  if (status === 401) return { kind: "logged-out", message };
  // The page's server is there, the agent behind it is not.
  if (status === 503) return { kind: "unreachable", message };
  return { kind: "refused", status, message };
}

function messageOf(text: string): string | undefined {
  try {
    const { message } = parseJsonText(text) as { readonly message?: unknown };
    return typeof message === "string" && message !== "" ? message : undefined;
  } catch {
    return undefined;
  }
}
