/** Rules for the conversion of custom objects between versions. */

import { isDNS1035Label } from '../../lib/names.ts'
import { decodePem } from '../../lib/pem.ts'
import { readCertificate } from '../../lib/x509/certificate.ts'
import { type FieldError, forbidden, invalid, invalidEach, type Ref, refTo, required, unsupported } from '../../schema/refs.ts'
import { validateWebhookService, validateWebhookUrl } from '../rules/webhook-client.ts'
import type { ClientConfig, Conversion, Spec } from './definition-shapes.ts'
import type { Strictness } from './strictness.ts'

const STRATEGIES = ['None', 'Webhook']
const REVIEW_VERSIONS = ['v1', 'v1beta1']

/** Whether this server can send a ConversionReview of the version. */
export const isAcceptedReviewVersion = (version: string): boolean => REVIEW_VERSIONS.includes(version)

/** Rules for conversion. Errors name the fields as in the first version of this API. */
export function* validateConversion({ conversion, preserveUnknownFields }: Spec, at: Ref<Spec>, strict: Strictness): Iterable<FieldError> {
  if (!conversion) return
  const { strategy, webhook } = conversion
  const there = at.conversion
  if (strategy !== 'None' && preserveUnknownFields) yield invalid(there.strategy, 'must be None if spec.preserveUnknownFields is true')
  if (strategy === '') yield required(there.strategy)
  else if (!STRATEGIES.includes(strategy)) yield unsupported(there.strategy, ...STRATEGIES)
  const config = refTo(webhook?.clientConfig, 'spec.conversion.webhookClientConfig') as Ref<ClientConfig>
  const versions = refTo(webhook?.conversionReviewVersions, 'spec.conversion.conversionReviewVersions') as Ref<string[]>
  if (strategy === 'Webhook') yield* validateWebhook(webhook, { config, versions }, strict)
  else {
    const detail = 'should not be set when strategy is not set to Webhook'
    if (webhook?.clientConfig) yield forbidden(config, detail)
    if (webhook?.conversionReviewVersions?.length) yield forbidden(versions, detail)
  }
}

function* validateWebhook(
  webhook: Conversion['webhook'],
  at: { readonly config: Ref<ClientConfig>; readonly versions: Ref<string[]> },
  strict: Strictness,
): Iterable<FieldError> {
  const { clientConfig } = webhook ?? {}
  if (clientConfig) yield* validateClientConfig(clientConfig, at.config, strict)
  else yield required(at.config, 'required when strategy is set to Webhook')
  yield* validateReviewVersions(webhook?.conversionReviewVersions ?? [], at.versions, strict)
}

function* validateClientConfig(
  { url, service, caBundle = '' }: ClientConfig,
  at: Ref<ClientConfig>,
  strict: Strictness,
): Iterable<FieldError> {
  if ((url === undefined) === (service === undefined)) yield required(at, 'exactly one of url or service is required')
  else if (url !== undefined) yield* validateWebhookUrl(url, at.url)
  else yield* validateWebhookService(service!, at.service)
  if (caBundle !== '' && strict.caBundle) yield* validateCABundle(caBundle, at.caBundle)
}

function* validateReviewVersions(versions: readonly string[], at: Ref<string[]>, strict: Strictness): Iterable<FieldError> {
  if (versions.length === 0) return yield required(at)
  const seen = new Set<string>()
  for (const [i, version] of versions.entries()) {
    if (seen.has(version)) yield invalid(at[i]!, 'duplicate version')
    else yield* invalidEach(at[i]!, isDNS1035Label(version))
    seen.add(version)
  }
  if (strict.reviewVersions && !versions.some(isAcceptedReviewVersion))
    yield invalid(at, `must include at least one of ${REVIEW_VERSIONS.join(', ')}`)
}

/** Certificate authorities must be readable: at least one certificate, and none that is broken. */
export function* validateCABundle(caBundle: string, at: Ref<string>): Iterable<FieldError> {
  const fault = bundleFault(Buffer.from(caBundle, 'base64').toString('latin1'))
  if (fault !== undefined) yield invalid(at, `unable to load root certificates: ${fault}`)
}

function bundleFault(pem: string): string | undefined {
  let firstFault: string | undefined
  for (let rest = pem; rest !== ''; ) {
    const next = decodePem(rest)
    if (!next.block) {
      firstFault ??= 'unable to parse bytes as PEM block'
      break
    }
    rest = next.rest
    if (next.block.label !== 'CERTIFICATE' || next.block.headers.size > 0) continue
    const fault = certificateFault(next.block.bytes)
    if (fault === undefined) return undefined
    firstFault ??= `failed to parse certificate: ${fault}`
  }
  return firstFault ?? 'no valid certificate authority data seen'
}

function certificateFault(der: Buffer): string | undefined {
  try {
    readCertificate(der)
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}
