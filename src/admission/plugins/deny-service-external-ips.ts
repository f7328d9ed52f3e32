/** DenyServiceExternalIPs: no Service gets an external address that it does not have already. */
import type { Plugin } from '../plugin.ts'
import { forbidden } from '../refusal.ts'

export const denyServiceExternalIPs: Plugin = {
  name: 'DenyServiceExternalIPs',
  validate(attributes) {
    const { operation, resource, subresource, object, oldObject } = attributes
    if ((operation !== 'CREATE' && operation !== 'UPDATE') || subresource !== '') return
    if (resource.group !== '' || resource.plural !== 'services') return
    const known: readonly string[] = oldObject?.['spec']?.externalIPs ?? []
    const wanted: readonly string[] = object?.['spec']?.externalIPs ?? []
    if (wanted.some(address => !known.includes(address))) throw forbidden(attributes, 'Use of external IPs is denied by admission control')
  },
}
