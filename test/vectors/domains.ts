// Every domain that Berth answers for. One line here and one file in domains/ add a domain.
import type { VectorDomain } from "./vector-domain.ts";

export const vectorDomains: readonly VectorDomain[] = [];
