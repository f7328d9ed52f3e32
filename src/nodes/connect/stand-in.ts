/**
 * The address of a process for which a pod or a Service stands. Annotations name it:
 *
 *     sim.keelson.dev/address: 127.0.0.1:9443        every port leads there
 *     sim.keelson.dev/address: 127.0.0.1             every port leads to the same port
 *     sim.keelson.dev/ports: "443=9443,80=8080"      these ports lead elsewhere
 */
import { parseIPSloppy } from '../../lib/ip.ts'
import type { Place } from '../../transport/destination.ts'

export const ADDRESS_ANNOTATION = 'sim.keelson.dev/address'
export const PORTS_ANNOTATION = 'sim.keelson.dev/ports'

type Annotated = { readonly annotations?: Readonly<Record<string, string>> | undefined }

/** Longer values are no address. */
const MAX_LENGTH = 1024

/** Undefined where the annotations name no address, or none that makes sense. */
export function standInOf({ annotations }: Annotated, port: number): Place | undefined {
  const address = annotations?.[ADDRESS_ANNOTATION]
  const ports = annotations?.[PORTS_ANNOTATION] ?? ''
  if (address === undefined || address.length > MAX_LENGTH || ports.length > MAX_LENGTH) return undefined
  const [, bracketed, plain = '', own = ''] = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(address.trim()) ?? []
  const host = bracketed ?? (plain === 'localhost' ? '127.0.0.1' : plain)
  if (!parseIPSloppy(host)) return undefined
  const mapped = ports.split(',').map(text => /^\s*(\d{1,5})=(\d{1,5})\s*$/.exec(text))
  const to = mapped.find(found => found && Number(found[1]) === port)?.[2] ?? (own === '' ? String(port) : own)
  const number = Number(to)
  return number > 0 && number <= 0xffff ? { host, port: number } : undefined
}
