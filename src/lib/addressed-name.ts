/** Names in the paths of proxies, which may have a scheme before and a port behind: `https:web:8443`. */

export type Addressed = { readonly scheme: '' | 'http' | 'https'; readonly name: string; readonly port: string }

/** Undefined for any other string. The port of a Service may be a name. */
export function addressedBy(text: string): Addressed | undefined {
  const parts = text.split(':')
  const [scheme, name, port] = parts.length === 1 ? ['', text, ''] : parts.length === 2 ? ['', ...parts] : parts
  if (parts.length > 3 || !name || (scheme !== '' && scheme !== 'http' && scheme !== 'https')) return undefined
  return { scheme, name, port: port ?? '' }
}

/** The number of a port; undefined when the string is not a port number. */
export const portNumberOf = (text: string): number | undefined =>
  /^[0-9]{1,5}$/.test(text) && Number(text) > 0 && Number(text) <= 0xffff ? Number(text) : undefined
