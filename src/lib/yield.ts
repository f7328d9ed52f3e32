/** Lets whatever else is waiting run, so that one large request does not delay the others. */
export const yieldToOthers = (): Promise<void> => new Promise(resolve => setImmediate(resolve))
