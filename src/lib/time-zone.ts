/** Names of time zones in the IANA database. */

/** What is wrong with the name of a time zone, in the words of Go; undefined for zones that exist. */
export function timeZoneFault(name: string): string | undefined {
  if (name === '' || name === 'UTC' || name === 'Local') return undefined
  return isKnown(name) ? undefined : `unknown time zone ${name}`
}

/** Names are told apart by case; only letters begin them, which keeps out offsets such as +0100. */
function isKnown(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false
  try {
    const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions()
    return timeZone === name || timeZone.toLowerCase() !== name.toLowerCase()
  } catch {
    return false
  }
}
