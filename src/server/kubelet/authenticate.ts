// Who sends a request: by certificate, by token, or anonymously.
import type { IncomingMessage } from "node:http";
import { readToken, type TokenReviewer } from "./bearer-token.ts";
import type { Authenticator, User } from "./check-access.ts";
import type { CertificateReader } from "./client-certificate.ts";

export interface AuthenticationMeans {
  readonly certificates?: CertificateReader | undefined;
  readonly tokens?: TokenReviewer | undefined;
  /** A request without credentials is system:anonymous. */
  readonly anonymous: boolean;
}

export const anonymousUser: User = { name: "system:anonymous", groups: ["system:unauthenticated"] };

/** The first means that knows the client decides; credentials that count for nothing are never anonymous. */
export function createAuthenticator(means: AuthenticationMeans): Authenticator<IncomingMessage> {
  return async (request) => {
    const problems: unknown[] = [];
    for (const identify of [byCertificate, byToken]) {
      try {
        const user = await identify(means, request);
        if (user !== undefined) return withGroup(user);
      } catch (error) {
        problems.push(error);
      }
    }
    if (problems.length > 0) throw problems[0];
    return means.anonymous ? anonymousUser : undefined;
  };
}

function byCertificate(
  { certificates }: AuthenticationMeans,
  { socket }: IncomingMessage,
): Promise<User | undefined> | User | undefined {
  return certificates?.read(socket);
}

async function byToken(
  { tokens }: AuthenticationMeans,
  request: IncomingMessage,
): Promise<User | undefined> {
  const token = tokens === undefined ? undefined : readToken(request);
  if (tokens === undefined || token === undefined) return undefined;
  const user = await tokens.review(token, request.socket.remoteAddress ?? "");
  if (user === undefined) throw new Error("invalid bearer token");
  return user;
}

function withGroup(user: User): User {
  const group = "system:authenticated";
  return user.groups.includes(group) ? user : { ...user, groups: [...user.groups, group] };
}
