/** Decides the next step of a ServiceCIDR: its finalizer, its Ready condition, or its release once no address is in use. */

import type { ServiceCIDR } from '../../kinds/networking/servicecidr.ts'
import { type CIDR, cidrContains, formatIP, lastAddress, parseCIDR, parseIPSloppy, sameIP } from '../../lib/ip.ts'
import { conditionOf } from '../../schema/conditions.ts'

export type Range = ServiceCIDR
export type Ready = { readonly status: 'True' | 'False'; readonly reason: string; readonly message: string }
export type Step = { readonly step: 'protect' } | { readonly step: 'report'; readonly ready: Ready } | { readonly step: 'release' }

export type Surroundings = {
  /** All ranges, this one among them. */
  readonly ranges: readonly Range[]
  /** The addresses that services hold. Asked for only when a range is being deleted. */
  readonly addresses: () => Iterable<string>
  readonly finalizer: string
}

const READY: Ready = { status: 'True', reason: '', message: 'Kubernetes Service CIDR is ready' }
const IN_USE: Ready = {
  status: 'False',
  reason: 'Terminating',
  message: 'There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR',
}

/** The next step, or undefined when the range is as it should be. */
export function nextStep(range: Range, around: Surroundings): Step | undefined {
  const isProtected = range.metadata.finalizers?.includes(around.finalizer) ?? false
  if (!range.metadata.deletionTimestamp) return isProtected ? report(range, READY) : { step: 'protect' }
  if (!isProtected) return undefined
  return isFree(range, around) ? { step: 'release' } : report(range, IN_USE)
}

function report({ status: { conditions = [] } }: Range, ready: Ready): Step | undefined {
  const shown = conditionOf(conditions, 'Ready')
  const isSame = shown?.status === ready.status && (shown.reason ?? '') === ready.reason && shown.message === ready.message
  return isSame ? undefined : { step: 'report', ready }
}

/** A range is free when others hold its blocks, or every address in them that a service has. Ranges that are being deleted hold nothing. */
function isFree(range: Range, { ranges, addresses }: Surroundings): boolean {
  const own = blocksOf(range)
  const stays = ({ metadata }: Range) => metadata.name !== range.metadata.name && !metadata.deletionTimestamp
  const others = ranges.filter(stays).flatMap(blocksOf)
  const isCovered = (block: CIDR) => others.some(other => other.prefix <= block.prefix && cidrContains(other, block.network))
  if (own.every(isCovered)) return true
  for (const text of addresses()) if (isIn(text, own) && !isIn(text, others)) return false
  return true
}

const blocksOf = ({ spec: { cidrs = [] } }: Range): CIDR[] => cidrs.flatMap(text => parseCIDR(text) ?? [])

/** The address of a network and the last IPv4 one are never a service's: that they are inside says nothing. */
function isIn(text: string, blocks: readonly CIDR[]): boolean {
  const ip = parseIPSloppy(text)
  if (!ip) return false
  return blocks.some(
    block => cidrContains(block, ip) && formatIP(block.network) !== text && !(ip.family === 4 && sameIP(lastAddress(block), ip)),
  )
}
