import { expect, test } from "vitest";
import { clusterSettings } from "./kubelet-options.ts";

const usual = {
  eventRecordQPS: 50,
  eventBurst: 100,
  configMapAndSecretChangeDetectionStrategy: "Watch",
};

test("a way to notice changes that does not exist is refused by the field's name", () => {
  const config = { ...usual, configMapAndSecretChangeDetectionStrategy: "Guess" };
  expect(() => clusterSettings(config)).toThrow(
    'configMapAndSecretChangeDetectionStrategy: "Guess" is unknown',
  );
});

test("the usual configuration watches objects and sends 50 events a second", () => {
  expect(clusterSettings(usual)).toEqual({
    eventsPerSecond: 50,
    eventBurst: 100,
    changeDetection: "Watch",
  });
});
