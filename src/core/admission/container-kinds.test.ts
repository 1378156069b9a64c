import { expect, test } from "vitest";
import { buildPod } from "../../../test/kit/pods.ts";
import type { Container, PodSpec } from "../../model/generated/kubernetes.ts";
import { type Pod, podContainers } from "../../model/pod.ts";
import { referencedConfigMaps, referencedSecrets } from "../../model/referenced-objects.ts";
import { nonRootViolation } from "../cri/security-context.ts";
import { appArmorProfile, seccompProfile } from "../cri/security-profiles.ts";
import { admitAppArmor } from "./app-armor-admission.ts";

const good: Container = { name: "good", image: "a" };
const bad: Container = {
  name: "bad",
  image: "a",
  envFrom: [{ secretRef: { name: "secret" } }, { configMapRef: { name: "map" } }],
  securityContext: {
    runAsNonRoot: true,
    seccompProfile: { type: "Localhost" },
    appArmorProfile: { type: "Localhost", localhostProfile: " " },
  },
};

/** A container of a kind that a check of regular containers only would miss. */
const places: readonly (readonly [string, PodSpec])[] = [
  ["a regular container", { containers: [good, bad] }],
  ["an init container", { containers: [good], initContainers: [bad] }],
  ["a sidecar", { containers: [good], initContainers: [{ ...bad, restartPolicy: "Always" }] }],
  ["an ephemeral container", { containers: [good], ephemeralContainers: [bad] }],
];

test.each(places)("%s is checked as every other", (_, spec) => {
  const pod: Pod = buildPod({
    metadata: { name: "p", namespace: "n", uid: "u" },
    spec,
    status: { phase: "Pending" },
  });
  expect(admitAppArmor(pod, false)).toMatchObject({ admit: false });
  expect(admitAppArmor(pod, true)).toMatchObject({ admit: false });
  expect([...referencedSecrets(spec)]).toEqual(["secret"]);
  expect([...referencedConfigMaps(spec)]).toEqual(["map"]);
  const found = podContainers(pod).filter(({ container }) => container.name === "bad");
  expect(found).toHaveLength(1);
  for (const { container } of found) {
    expect(nonRootViolation(pod, container, { uid: 0n, username: "" })).toContain("runAsNonRoot");
    expect(
      seccompProfile(pod, container, { seccompProfileRoot: "/s", seccompDefault: true }).ok,
    ).toBe(false);
    expect(appArmorProfile(pod, container).ok).toBe(false);
  }
});
