import type { Result } from "../lib/result.ts";
import type {
  ServiceAccountToken,
  ServiceAccountTokenRequest,
} from "../model/service-account-token.ts";

/** Tokens of a cluster's service accounts; renewed by the driver before they expire. */
export interface ServiceAccountTokens {
  request(
    request: ServiceAccountTokenRequest,
    signal: AbortSignal,
  ): Promise<Result<ServiceAccountToken, string>>;
}
