import { expect, test } from "vitest";
import { parseUrlScheme } from "./go-url-problem.ts";

test.each([
  ["dns://localhost:4317", "dns"],
  ["unix:///run/x.sock", "unix"],
  ["HTTP://a/%20b?%zz", "http"],
])("%s has the scheme %s", (text, scheme) => {
  expect(parseUrlScheme(text)).toEqual({ ok: true, value: scheme });
});

test.each([
  ["http://%zz", 'parse "http://%zz": invalid URL escape "%zz"'],
  ["http://a/%2", 'parse "http://a/%2": invalid URL escape "%2"'],
  ["http://a:b", 'parse "http://a:b": invalid port ":b" after host'],
  ["http://[::1", "parse \"http://[::1\": missing ']' in host"],
  ["http://a b", 'parse "http://a b": invalid character " " in host name'],
  ["://a", 'parse "://a": missing protocol scheme'],
  ["http://a%20b", 'parse "http://a%20b": invalid URL escape "%20"'],
  ["a\n//", 'parse "a\\n//": net/url: invalid control character in URL'],
])("%j is refused", (text, message) => {
  expect(parseUrlScheme(text)).toEqual({ ok: false, error: message });
});
