import type { Image } from "../../model/generated/cri.ts";

/** Whom an image runs as: by number, or by a name that only the image knows the number of. */
export interface ImageUser {
  readonly uid?: bigint | undefined;
  readonly username: string;
}

/** The user that the runtime reports for an image; root without one. */
export function imageUser(image: Pick<Image, "uid" | "username"> | undefined): ImageUser {
  if (image?.uid !== undefined) return { uid: image.uid.value ?? 0n, username: "" };
  const username = image?.username ?? "";
  return username === "" ? { uid: 0n, username } : { username };
}
