/** Names in the paths of proxies, which may have a scheme before and a port behind: `https:web:8443`. */

export type Addressed = { readonly scheme: string; readonly name: string; readonly port: string }

export function addressedBy(text: string): Addressed {
  const parts = text.split(':')
  if (parts.length === 1) return { scheme: '', name: text, port: '' }
  if (parts.length === 2) return { scheme: '', name: parts[0]!, port: parts[1]! }
  return { scheme: parts[0]!, name: parts[1]!, port: parts.slice(2).join(':') }
}
