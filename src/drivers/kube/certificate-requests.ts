import type { CertificateRequests } from "../../ports/certificate-store.ts";
import { createCsr, createKey, keyPem } from "./x509.ts";

/** Keys and requests as nodes make them. */
export const certificateRequests: CertificateRequests = {
  create: async (template) => {
    const key = await createKey();
    return { csrPem: createCsr(template, key), keyPem: keyPem(key) };
  },
};
