// Every domain that Berth answers for. One line here and one file in domains/ add a domain.
import { containerHash } from "./domains/container-hash.ts";
import { imageNames } from "./domains/image-names.ts";
import { paths } from "./domains/paths.ts";
import { quantity } from "./domains/quantity.ts";
import type { VectorDomain } from "./vector-domain.ts";

export const vectorDomains: readonly VectorDomain[] = [containerHash, imageNames, paths, quantity];
