import { expect, test } from "vitest";
import { digestOf, Logins, newSecret } from "./logins.ts";
import { codeLifetimeMs } from "./ui-settings.ts";

function world() {
  const clock = { nowMs: 0 };
  const logins = new Logins(() => clock.nowMs);
  const code = newSecret();
  logins.allow(digestOf(code));
  return { clock, logins, code };
}

test("a code opens one session, once", () => {
  const { logins, code } = world();
  const session = logins.logIn(code);
  expect(session).toMatchObject({ lifetimeMs: expect.any(Number) });
  expect(logins.logIn(code)).toBe("wrong-code");
});

test("a code opens nothing once it has expired", () => {
  const { clock, logins, code } = world();
  clock.nowMs = codeLifetimeMs;
  expect(logins.logIn(code)).toBe("wrong-code");
});

test("a session is found by its cookie and its key together only", () => {
  const { logins, code } = world();
  const session = logins.logIn(code);
  if (typeof session === "string") throw new Error(session);
  expect(logins.find(session.cookie, session.key)).toBeDefined();
  expect(logins.find(session.cookie, newSecret())).toBeUndefined();
  expect(logins.find(newSecret(), session.key)).toBeUndefined();
});

test("guesses are slowed down, a right code is taken all the same", () => {
  const { logins, code } = world();
  const guesses = Array.from({ length: 30 }, () => logins.logIn(newSecret()));
  expect(guesses.at(-1)).toBe("too-many");
  expect(logins.logIn(code)).toMatchObject({ key: expect.any(String) });
});
