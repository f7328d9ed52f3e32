/** The ranges and sizes of the pod CIDRs of nodes. */
import type { NodeRange } from '../../controllers/nodeipam/allocator.ts'
import { type CIDR, parseCIDR } from '../../lib/ip.ts'
import { type Config, ConfigError } from '../config.ts'

const DEFAULT_MASK_SIZES = { 4: 24, 6: 64 } as const
/** Limit of blocks in one range: the allocator counts no more. */
const MAX_BITS = 16

/** The ranges of pod CIDRs, in the order of --cluster-cidr. Throws ConfigError. */
export function nodeRanges(config: Config): readonly NodeRange[] {
  const ranges = config.clusterCidr.map(text => {
    const range = parseCIDR(text)
    if (!range) throw new ConfigError(`--cluster-cidr: "${text}" is not a range such as 10.244.0.0/16 or fd00:10:244::/48`)
    return range
  })
  if (ranges.length === 0) throw new ConfigError('--allocate-node-cidrs needs --cluster-cidr, the range that blocks are taken from')
  if (ranges.length > 2 || (ranges.length === 2 && ranges[0]!.network.family === ranges[1]!.network.family))
    throw new ConfigError('--cluster-cidr takes one range, or one IPv4 and one IPv6 range')
  checkMaskSizes(config, ranges)
  const { nodeCidrMaskSize: both, nodeCidrMaskSizeIpv4, nodeCidrMaskSizeIpv6 } = config
  const own = { 4: nodeCidrMaskSizeIpv4, 6: nodeCidrMaskSizeIpv6 }
  return ranges.map((range, i) => {
    const { family } = range.network
    const maskSize = both ?? own[family] ?? DEFAULT_MASK_SIZES[family]
    const longest = family === 4 ? 32 : 128
    if (maskSize > longest)
      throw new ConfigError(`--node-cidr-mask-size: a block of IPv${family} has ${longest} bits at most, not ${maskSize}`)
    if (range.prefix > maskSize)
      throw new ConfigError(
        `--cluster-cidr: ${config.clusterCidr[i]} is smaller than the block of one node, which has the size /${maskSize}`,
      )
    if (family === 6 && maskSize - range.prefix > MAX_BITS)
      throw new ConfigError(`--cluster-cidr: the blocks /${maskSize} of ${config.clusterCidr[i]} are too many; ${MAX_BITS} bits can differ`)
    return { range, maskSize }
  })
}

function checkMaskSizes(
  { nodeCidrMaskSize: both, nodeCidrMaskSizeIpv4: v4, nodeCidrMaskSizeIpv6: v6 }: Config,
  ranges: readonly CIDR[],
): void {
  const [first, second] = ranges
  if (both !== undefined && second) throw new ConfigError('usage of --node-cidr-mask-size is not allowed with dual-stack clusters')
  if (both !== undefined && (v4 !== undefined || v6 !== undefined))
    throw new ConfigError(
      'usage of --node-cidr-mask-size-ipv4 and --node-cidr-mask-size-ipv6 is not allowed if --node-cidr-mask-size is set. For dual-stack clusters please unset it and use IPFamily specific flags',
    )
  if (second) return
  const { family } = first!.network
  if (v4 !== undefined && family === 6)
    throw new ConfigError('usage of --node-cidr-mask-size-ipv4 is not allowed for a single-stack IPv6 cluster')
  if (v6 !== undefined && family === 4)
    throw new ConfigError('usage of --node-cidr-mask-size-ipv6 is not allowed for a single-stack IPv4 cluster')
}
