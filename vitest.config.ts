import { defineConfig, type ViteUserConfig } from "vitest/config";
import { patience } from "./test/kit/patience.ts";

const machineSetup = [
  "test/integration/support/remove-killed-runs.ts",
  "test/integration/support/keep-kernel-settings.ts",
];

/** For tests that also run on the virtual machine of tools/machine. */
const patientWaits = {
  setupFiles: ["test/kit/stretch-timeouts.ts"],
  expect: { poll: { timeout: 60_000 * patience } },
  testTimeout: 300_000 * patience,
  hookTimeout: 300_000 * patience,
};

const config: ViteUserConfig = defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "unit",
          include: [
            "src/**/*.test.ts",
            "web/**/*.test.ts",
            "tools/**/*.test.ts",
            "test/*.test.ts",
            "test/sim/**/*.test.ts",
          ],
          testTimeout: 30_000,
        },
      },
      {
        test: {
          name: "integration",
          include: ["test/integration/**/*.test.ts"],
          globalSetup: machineSetup,
          ...patientWaits,
        },
      },
      {
        test: {
          name: "hostile",
          include: ["test/hostile/**/*.test.ts"],
          globalSetup: machineSetup,
          expect: { poll: { timeout: 60_000 } },
          testTimeout: 300_000,
          hookTimeout: 300_000,
        },
      },
      {
        test: {
          name: "cluster",
          include: ["test/cluster/*.test.ts"],
          globalSetup: machineSetup,
          expect: { poll: { timeout: 60_000 } },
          testTimeout: 300_000,
          hookTimeout: 300_000,
        },
      },
      // Only on that machine: they need its systemd, containerd and cgroups.
      { test: { name: "machine", include: ["test/machine/*.test.ts"], ...patientWaits } },
      {
        test: {
          name: "golden",
          include: ["test/golden/*.test.ts"],
          globalSetup: machineSetup,
          testTimeout: 600_000,
          hookTimeout: 600_000,
        },
      },
      // The page, in Debian's Chromium.
      {
        test: {
          name: "browser",
          include: ["test/browser/*.test.ts"],
          globalSetup: machineSetup,
          expect: { poll: { timeout: 60_000 } },
          testTimeout: 120_000,
          hookTimeout: 300_000,
        },
      },
      { test: { name: "vectors", include: ["test/vectors/*.test.ts"], testTimeout: 120_000 } },
    ],
  },
});

export default config;
