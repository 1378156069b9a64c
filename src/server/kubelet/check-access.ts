// Who may do what: asked for every request that has an endpoint.
import type { AttributeRules, NodeAttributes } from "./request-attributes.ts";
import { requestAttributes } from "./request-attributes.ts";
import { TooManyReviews } from "./review-gate.ts";

/** Whom a request comes from. */
export interface User {
  readonly name: string;
  readonly uid?: string | undefined;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>> | undefined;
}

/** Answers undefined for one that it does not know; rejects when that could not be found out. */
export type Authenticator<Request> = (
  request: Request,
  signal: AbortSignal,
) => Promise<User | undefined>;

/** Rejects when the question could not be answered. */
export type Authorizer = (
  user: User,
  attributes: NodeAttributes,
  signal: AbortSignal,
) => Promise<boolean>;

export type Access =
  | { readonly kind: "allowed"; readonly user: User }
  | {
      readonly kind: "refused";
      readonly status: 401 | 403 | 429 | 500;
      readonly body: string;
      /** Why it could not be decided; for the log. */
      readonly error?: unknown;
    };

export interface AccessRules<Request> extends AttributeRules {
  readonly authenticate: Authenticator<Request>;
  readonly authorize: Authorizer;
}

/** Decides on a request by its method and decoded path. */
export async function checkAccess<Request>(
  rules: AccessRules<Request>,
  request: Request,
  { method, path }: { readonly method: string; readonly path: string },
  signal: AbortSignal,
): Promise<Access> {
  const unauthorized = { kind: "refused", status: 401, body: "Unauthorized" } as const;
  let user: User | undefined;
  try {
    user = await rules.authenticate(request, signal);
  } catch (error) {
    if (error instanceof TooManyReviews) {
      return { kind: "refused", status: 429, body: "Too Many Requests" };
    }
    return { ...unauthorized, error };
  }
  if (user === undefined) return unauthorized;
  const asked: string[] = [];
  let verb = "";
  for (const attributes of requestAttributes(method, path, rules)) {
    ({ verb } = attributes);
    asked.push(attributes.subresource);
    try {
      if (await rules.authorize(user, attributes, signal)) return { kind: "allowed", user };
    } catch (error) {
      const body = `Authorization error (user=${user.name}, verb=${verb}, resource=nodes, subresource=${attributes.subresource})`;
      return { kind: "refused", status: 500, body, error };
    }
  }
  const body = `Forbidden (user=${user.name}, verb=${verb}, resource=nodes, subresource(s)=[${asked.join(" ")}])\n`;
  return { kind: "refused", status: 403, body };
}
