/** Cost estimates of Kubernetes' functions and of the extensions it uses. Changing a number changes which expressions may be stored. */

import {
  addRanges,
  type CallEstimate,
  type CallNode,
  type CostEstimator,
  type CostNode,
  exactly,
  LIST_CREATION_COST,
  multiplyRanges,
  type Range,
  REGEX_LENGTH_FACTOR,
  STRING_TRAVERSAL_FACTOR,
  scaleRange,
  sizeOf,
} from '../checker/cost-range.ts'
import { sameType } from '../checker/types.ts'
import { authorizerType, decisionType, groupCheckType, pathCheckType, resourceCheckType } from './authorizer.ts'
import { estimateExtensionCall } from './extension-estimates.ts'
import { formatType } from './formats.ts'
import { cidrType, ipType } from './network.ts'
import { quantityType } from './quantities.ts'
import { joinSize, replacedSize, splitSize } from './result-sizes.ts'
import { semverType } from './semvers.ts'
import { urlType } from './urls.ts'

/** Estimates the size of a node; undefined when unknown. */
export type SizeEstimator = (node: CostNode) => Range | undefined

/** The estimator of an environment of Kubernetes, with the known sizes of its variables. */
export function kubernetesEstimator(estimateSize: SizeEstimator = () => undefined): CostEstimator {
  const estimator: CostEstimator = {
    estimateSize,
    estimateCall: call => estimateExtensionCall(call, estimator) ?? byFunction.get(call.function)?.(call, estimator),
  }
  return estimator
}

type Estimate = (call: CallNode, estimator: CostEstimator) => CallEstimate | undefined

const one: CallEstimate = { cost: exactly(1) }
const traversal = (size: Range): Range => scaleRange(size, STRING_TRAVERSAL_FACTOR)
const doubleTraversal = (size: Range): Range => scaleRange(size, 2 * STRING_TRAVERSAL_FACTOR)

const nominal: Estimate = () => one

const firstArgument: Estimate = ({ args: [first] }, estimator) => first && { cost: traversal(sizeOf(first, estimator)) }

const parsedArgument: Estimate = ({ args: [first] }, estimator) => {
  if (!first) return undefined
  const size = sizeOf(first, estimator)
  return { cost: traversal(size), resultSize: size }
}

const transformedTarget: Estimate = ({ target }, estimator) => {
  if (!target) return undefined
  const size = sizeOf(target, estimator)
  return { cost: traversal(size), resultSize: size }
}

/** A list, parsing the string, and a requirement with its values for every second character at most. */
const selector: Estimate = ({ args: [first] }, estimator) => {
  if (!first) return undefined
  const length = sizeOf(first, estimator)
  const requirements = scaleRange(scaleRange(length, 0.5), 50)
  return { cost: addRanges(addRanges(exactly(LIST_CREATION_COST), traversal(length)), requirements) }
}

/** The elements of a list as a node, to look up their sizes. */
const elementNode = ({ type, path }: CostNode): CostNode | undefined =>
  type.params[0] && { type: type.params[0], path: path && [...path, '@items'] }

const eachElement: Estimate = ({ function: name, target }, estimator) => {
  if (!target) return undefined
  const size = sizeOf(target, estimator)
  const element = elementNode(target)
  if (!element) return { cost: name === 'includes' ? size : traversal(size) }
  const isText = element.type.kind === 'string' || element.type.kind === 'bytes'
  const each = isText ? addRanges(exactly(1), traversal(sizeOf(element, estimator))) : exactly(1)
  return { cost: multiplyRanges(size, each) }
}

const replace: Estimate = ({ target, args: [old, replacement] }, estimator) => {
  if (!target || !old || !replacement) return undefined
  const size = sizeOf(target, estimator)
  const resultSize = replacedSize(size, sizeOf(old, estimator), sizeOf(replacement, estimator))
  return { cost: doubleTraversal(size), resultSize }
}

const split: Estimate = ({ target, args }, estimator) => {
  if (!target) return undefined
  const size = sizeOf(target, estimator)
  return { cost: doubleTraversal(size), resultSize: splitSize(size, args[1]?.expr) }
}

const join: Estimate = ({ target, args: [separator] }, estimator) => {
  if (!target) return undefined
  const element = elementNode(target)
  const size = joinSize(sizeOf(target, estimator), {
    ...(element && { element: sizeOf(element, estimator) }),
    ...(separator && { separator: sizeOf(separator, estimator) }),
  })
  return { cost: traversal(size), resultSize: size }
}

const find: Estimate = ({ target, args: [pattern] }, estimator) => {
  if (!target || !pattern) return undefined
  const size = sizeOf(target, estimator)
  // One more character, so that a costly pattern is not free on an empty string.
  const textCost = traversal(addRanges(size, exactly(1)))
  const patternCost = scaleRange(sizeOf(pattern, estimator), REGEX_LENGTH_FACTOR)
  return { cost: multiplyRanges(textCost, patternCost), resultSize: { min: 0n, max: size.max } }
}

const ip: Estimate = (call, estimator) => (call.overload === 'cidr_ip' ? one : firstArgument(call, estimator))

const isCanonical: Estimate = ({ args: [first] }, estimator) => first && { cost: doubleTraversal(sizeOf(first, estimator)) }

/** The number of bytes of an address. */
const addressBytes: Range = { min: 4n, max: 16n }

const containsIp: Estimate = ({ overload, args: [first] }, estimator) => {
  if (!first) return undefined
  const compared = traversal(addRanges(addressBytes, addressBytes))
  return { cost: overload === 'cidr_contains_ip_string' ? addRanges(compared, traversal(sizeOf(first, estimator))) : compared }
}

const containsCidr: Estimate = ({ overload, args: [first] }, estimator) => {
  if (!first) return undefined
  const compared = addRanges(traversal(addRanges(addressBytes, addressBytes)), addRanges(traversal(addressBytes), exactly(1)))
  return { cost: overload === 'cidr_contains_cidr_string' ? addRanges(compared, traversal(sizeOf(first, estimator))) : compared }
}

const MAX_NAME_PATTERN_LENGTH = 128

const validate: Estimate = ({ args: [text] }, estimator) =>
  text && { cost: scaleRange(traversal(sizeOf(text, estimator)), MAX_NAME_PATTERN_LENGTH * REGEX_LENGTH_FACTOR) }

const MAX_FORMAT_NAME_LENGTH = 64n

const simple = [ipType, cidrType, quantityType, semverType, authorizerType, pathCheckType, groupCheckType, resourceCheckType, decisionType]

/** Kubernetes' own types are compared in one step if they have a fixed size. */
const equals: Estimate = ({ args: [left, right] }) => {
  if (!left || !right || !sameType(left.type, right.type)) return undefined
  if (simple.some(type => sameType(type, left.type))) return one
  if (sameType(left.type, formatType)) return { cost: traversal({ min: 1n, max: MAX_FORMAT_NAME_LENGTH }) }
  if (!sameType(left.type, urlType)) return undefined
  return { cost: traversal({ min: 1n, max: right.size?.max ?? 1n }) }
}

const named = (estimate: Estimate, ...names: string[]): [string, Estimate][] => names.map(name => [name, estimate])

const CHECK_COST = 350_000

const byFunction: ReadonlyMap<string, Estimate> = new Map([
  ...named(() => ({ cost: exactly(CHECK_COST) }), 'check'),
  ...named(nominal, 'serviceAccount', 'path', 'group', 'resource', 'subresource', 'namespace', 'name'),
  ...named(nominal, 'allowed', 'reason', 'error', 'errored'),
  ...named(selector, 'fieldSelector', 'labelSelector'),
  ...named(eachElement, 'isSorted', 'sum', 'max', 'min', 'indexOf', 'lastIndexOf', 'includes'),
  ...named(parsedArgument, 'url', 'jsonpatch.escapeKey'),
  ...named(transformedTarget, 'lowerAscii', 'upperAscii', 'substring', 'trim'),
  ...named(replace, 'replace'),
  ...named(split, 'split'),
  ...named(join, 'join'),
  ...named(find, 'find', 'findAll'),
  ...named(firstArgument, 'cidr', 'isIP', 'isCIDR'),
  ...named(ip, 'ip'),
  ...named(isCanonical, 'ip.isCanonical'),
  ...named(nominal, 'masked', 'prefixLength', 'family', 'isUnspecified', 'isLoopback'),
  ...named(nominal, 'isLinkLocalMulticast', 'isLinkLocalUnicast', 'isGlobalUnicast'),
  ...named(containsIp, 'containsIP'),
  ...named(containsCidr, 'containsCIDR'),
  ...named(firstArgument, 'quantity', 'isQuantity', 'semver', 'isSemver'),
  ...named(validate, 'validate'),
  ...named(nominal, 'format.named'),
  ...named(nominal, 'sign', 'asInteger', 'isInteger', 'asApproximateFloat', 'isGreaterThan', 'isLessThan', 'compareTo'),
  ...named(nominal, 'add', 'sub', 'major', 'minor', 'patch'),
  ...named(nominal, 'getScheme', 'getHostname', 'getHost', 'getPort', 'getEscapedPath', 'getQuery'),
  ...named(equals, '_==_'),
])
