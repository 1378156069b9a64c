const mebibyte = 1024 * 1024;
const gibibyte = 1024 * mebibyte;
const sizeClasses: readonly (readonly [number, string])[] = [
  [100 * gibibyte, "GT100GB"],
  [60 * gibibyte, "60GB-100GB"],
  [40 * gibibyte, "40GB-60GB"],
  [30 * gibibyte, "30GB-40GB"],
  [20 * gibibyte, "20GB-30GB"],
  [10 * gibibyte, "10GB-20GB"],
  [5 * gibibyte, "5GB-10GB"],
  [gibibyte, "1GB-5GB"],
  [500 * mebibyte, "500MB-1GB"],
  [100 * mebibyte, "100MB-500MB"],
  [10 * mebibyte, "10MB-100MB"],
  [0, "0-10MB"],
];

/** As the metric of pull durations names sizes; empty when the size is not known. */
export function imageSizeClass(bytes: number): string {
  return sizeClasses.find(([bound]) => bytes > bound)?.[1] ?? "";
}
