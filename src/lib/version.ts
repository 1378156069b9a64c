/** Berth's own version; a test keeps it equal to the package's. */
export const berthVersion = "0.1.0";
