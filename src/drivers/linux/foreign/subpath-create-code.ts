/** The code of the error when a missing folder of a sub path could not be made. */
export const subPathCreateCode = "SUBPATH_CREATE";
