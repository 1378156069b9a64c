import { defineConfig, type ViteUserConfig } from "vitest/config";

const machineSetup = [
  "test/integration/support/remove-killed-runs.ts",
  "test/integration/support/keep-kernel-settings.ts",
];

const config: ViteUserConfig = defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "unit",
          include: [
            "src/**/*.test.ts",
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
          expect: { poll: { timeout: 60_000 } },
          testTimeout: 300_000,
          hookTimeout: 300_000,
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
      {
        test: {
          name: "golden",
          include: ["test/golden/*.test.ts"],
          globalSetup: machineSetup,
          testTimeout: 600_000,
          hookTimeout: 600_000,
        },
      },
      { test: { name: "vectors", include: ["test/vectors/*.test.ts"], testTimeout: 120_000 } },
    ],
  },
});

export default config;
