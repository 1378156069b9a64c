import { utf8Length } from "../../lib/utf8.ts";
import type { AppArmorProfile, SeccompProfile } from "../generated/kubernetes.ts";
import {
  type FieldError,
  type FieldPath,
  invalid,
  notSupported,
  required,
  tooLong,
  word,
} from "./field-error.ts";
import { shownSeccompProfile } from "./internal-json.ts";
import { validateDescendingPath } from "./paths.ts";

const profileTypes = ["Localhost", "RuntimeDefault", "Unconfined"];
const maxProfileBytes = 4095;

export function validateSeccompProfile(
  profile: SeccompProfile | undefined,
  field: FieldPath,
): FieldError[] {
  if (profile === undefined) return [];
  const { type, localhostProfile } = profile;
  const errors = validateType(type, field, "seccompProfile");
  if (type !== "Localhost") {
    if (localhostProfile === undefined) return errors;
    const detail = "can only be set when seccomp type is Localhost";
    return [...errors, invalid(`${field}.localhostProfile`, shownSeccompProfile(profile), detail)];
  }
  if (localhostProfile === undefined) {
    const detail = "must be set when seccomp type is Localhost";
    return [...errors, required(`${field}.localhostProfile`, detail)];
  }
  return [...errors, ...validateDescendingPath(localhostProfile, `${field}.localhostProfile`)];
}

export function validateAppArmorProfile(
  profile: AppArmorProfile | undefined,
  field: FieldPath,
): FieldError[] {
  if (profile === undefined) return [];
  const { type, localhostProfile } = profile;
  const at = `${field}.localhostProfile`;
  if (type === "Localhost") return validateLocalAppArmor(localhostProfile, at);
  const errors = validateType(type, field, "appArmorProfile");
  if (errors.length > 0 || localhostProfile === undefined) return errors;
  return [invalid(at, word(localhostProfile), "can only be set when AppArmor type is Localhost")];
}

function validateLocalAppArmor(profile: string | undefined, field: FieldPath): FieldError[] {
  const missing = required(field, "must be set when AppArmor type is Localhost");
  if (profile === undefined) return [missing];
  const errors: FieldError[] = [];
  if (profile.trim() !== profile) {
    errors.push(invalid(field, profile, "must not be padded with whitespace"));
  } else if (profile === "") {
    errors.push(missing);
  }
  if (utf8Length(profile) > maxProfileBytes) errors.push(tooLong(field, maxProfileBytes));
  return errors;
}

function validateType(type: string, field: FieldPath, name: string): FieldError[] {
  if (type === "") return [required(`${field}.type`, `type is required when ${name} is set`)];
  return profileTypes.includes(type)
    ? []
    : [notSupported(`${field}.type`, word(type), profileTypes)];
}
