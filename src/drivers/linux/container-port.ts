import { quoteText } from "../../lib/go-text.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { AnyContainer } from "../../model/pod.ts";

/** The number of a port that is given as a number, a port's name of that container, or a number in a string. */
export function resolveContainerPort(
  port: number | string,
  container: AnyContainer,
): Result<number, string> {
  const number = typeof port === "number" ? ok(port) : portOfName(port, container);
  if (!number.ok || (number.value > 0 && number.value < 65_536)) return number;
  return err(`invalid port number: ${number.value}`);
}

function portOfName(name: string, container: AnyContainer): Result<number, string> {
  const named = container.ports?.find((port) => port.name === name);
  if (named !== undefined) return ok(named.containerPort);
  if (!/^[+-]?\d+$/.test(name)) {
    return err(`strconv.Atoi: parsing ${quoteText(name)}: invalid syntax`);
  }
  const number = BigInt(name.replace("+", ""));
  if (BigInt.asIntN(64, number) !== number) {
    return err(`strconv.Atoi: parsing ${quoteText(name)}: value out of range`);
  }
  return ok(Number(number));
}
