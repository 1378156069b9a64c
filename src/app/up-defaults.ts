/** What pods of `berth up` are allowed unless its flags say otherwise; a kubelet allows more. */
export const defaultPodPids = 16_384;
export const defaultSeccompDefault = true;
/** Of the page. */
export const defaultUiAddress = "127.0.0.1:10260";
