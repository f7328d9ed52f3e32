/** Permissions to decide about requests for certificates, to sign them and to vouch for authorities, each for a signer by name. */

import { goQuote } from '../../lib/go-text.ts'
import { deepEqual } from '../../lib/json-value.ts'
import type { Step } from '../../lib/step.ts'
import { forbidden, refTo } from '../../schema/refs.ts'
import { forbiddenRequest, invalidObject } from '../../schema/status-error.ts'
import type { User } from '../../schema/user.ts'
import type { Attributes } from '../attributes.ts'
import { onlyChangesOwnership } from '../only-ownership.ts'
import type { May } from '../permission.ts'
import type { Plugin } from '../plugin.ts'

export type SignerParts = { readonly may: May; readonly groupDomain: string }

/** Approving or denying a request needs the verb `approve` on its signer. */
export const certificateApproval = (parts: SignerParts): Plugin =>
  signerPlugin('CertificateApproval', parts, {
    plural: 'certificatesigningrequests',
    verb: 'approve',
    refusal: 'user not permitted to approve requests with signerName',
    // The stored request decides, not the new one.
    signerOf: ({ subresource, oldObject }) => (subresource === 'approval' ? (oldObject?.['spec'].signerName ?? '') : undefined),
  })

/** Issuing a certificate, or saying anything about a request, needs the verb `sign`. */
export const certificateSigning = (parts: SignerParts): Plugin =>
  signerPlugin('CertificateSigning', parts, {
    plural: 'certificatesigningrequests',
    verb: 'sign',
    refusal: 'user not permitted to sign requests with signerName',
    signerOf({ subresource, object, oldObject }) {
      if (subresource !== 'status') return undefined
      const [next, stored] = [object?.['status'] ?? {}, oldObject?.['status'] ?? {}]
      const says = next.certificate !== stored.certificate || !deepEqual(next.conditions ?? [], stored.conditions ?? [])
      return says ? (oldObject?.['spec'].signerName ?? '') : undefined
    },
  })

/** Authorities that are said to be those of a signer need the verb `attest` on it. */
export const clusterTrustBundleAttest = (parts: SignerParts): Plugin =>
  signerPlugin('ClusterTrustBundleAttest', parts, {
    plural: 'clustertrustbundles',
    verb: 'attest',
    refusal: 'user not permitted to attest for signerName',
    signerOf: ({ object, oldObject }) =>
      !object || (oldObject && onlyChangesOwnership(object, oldObject)) ? undefined : object['spec'].signerName || undefined,
  })

/**
 * Deciding about the request of a pod needs the verb `sign`. In Kubernetes that is no plugin but a rule on the status, so it is
 * always on, and speaks as a rule does.
 */
export const podCertificateSigning = ({ may, groupDomain }: SignerParts): Plugin => ({
  name: 'PodCertificateSigning',
  plurals: ['podcertificaterequests'],
  *validate({ operation, resource, subresource, object, oldObject, name, ctx: { user } }) {
    const isStatus = operation === 'UPDATE' && subresource === 'status' && resource.plural === 'podcertificaterequests'
    if (!isStatus || resource.group !== `certificates.${groupDomain}` || deepEqual(object?.['status'], oldObject?.['status'])) return
    const { signerName = '' } = oldObject?.['spec'] ?? {}
    if (yield* maySign(signerName, { user, may, group: resource.group, verb: 'sign' })) return
    const at = refTo({ spec: { signerName } }).spec.signerName
    throw invalidObject(resource, name, [
      forbidden(at, `User ${goQuote(user.name)} is not permitted to "sign" for signer ${goQuote(signerName)}`),
    ])
  },
})

type Check = {
  readonly plural: string
  readonly verb: string
  /** The message before the name of the signer. */
  readonly refusal: string
  /** The signer that a write needs the verb on, if any. */
  readonly signerOf: (attributes: Attributes) => string | undefined
}

type Permission = { readonly user: User; readonly may: May; readonly group: string; readonly verb: string }

/** Asks for the signer by name, then for all signers of its domain. */
function* maySign(signer: string, { user, may, group, verb }: Permission): Step<boolean> {
  const on = (name: string) =>
    may(user, { verb, path: '', resource: { group, version: '*', plural: 'signers', subresource: '', namespace: '', name } })
  return (yield* on(signer)) || (yield* on(`${signer.split('/')[0]}/*`))
}

function signerPlugin(name: string, { may, groupDomain }: SignerParts, { plural, verb, refusal, signerOf }: Check): Plugin {
  const group = `certificates.${groupDomain}`
  const refuseUnless = function* (signer: string, { ctx: { user }, resource, name, object }: Attributes): Step<void> {
    if (yield* maySign(signer, { user, may, group, verb })) return
    throw forbiddenRequest(resource, name || object?.metadata.name || '', `${refusal} ${goQuote(signer)}`)
  }
  return {
    name,
    plurals: [plural],
    validate(attributes) {
      const { resource, operation } = attributes
      if (resource.group !== group || resource.plural !== plural || (operation !== 'CREATE' && operation !== 'UPDATE')) return
      const signer = signerOf(attributes)
      if (signer !== undefined) return refuseUnless(signer, attributes)
    },
  }
}
