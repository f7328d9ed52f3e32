/** Approves requests of kubelets for client certificates, where the requester has the right to have them approved. */
import { namedBy } from '../../client/change.ts'
import { SubjectAccessReview } from '../../kinds/authorization/subjectaccessreview.ts'
import { CertificateSigningRequest } from '../../kinds/certificates/certificatesigningrequest.ts'
import { defineController, watch } from '../controller.ts'
import type { SigningRequest } from '../csrsigning/signers.ts'
import { approvedStatus, recognitionsOf } from './reconcile.ts'

/** Refused requests are checked again later, because rights change. */
const FIRST_LOOK_MS = 200
const LAST_LOOK_MS = 1_000_000

export const csrApprovingController = defineController({
  name: 'certificatesigningrequest-approving-controller',
  identity: 'certificate-controller',
  workers: 5,
  backOff: { firstMs: FIRST_LOOK_MS, lastMs: LAST_LOOK_MS, perSecond: 10, burst: 100 },
  create({ client, groupDomain }) {
    const [requests, reviews] = [client.of(CertificateSigningRequest), client.of(SubjectAccessReview)]
    /** How long each request that was not approved waits for the next look. */
    const waits = new Map<string, number>()

    async function may({ spec: { username, uid, groups, extra } }: SigningRequest, subresource: string): Promise<boolean> {
      const resourceAttributes = {
        group: `certificates.${groupDomain}`,
        version: '*',
        resource: 'certificatesigningrequests',
        subresource,
        verb: 'create',
      }
      const review = await reviews.create({ spec: { user: username, uid, groups, extra, resourceAttributes } })
      return review?.object.status.allowed === true
    }

    return {
      watches: [
        watch(CertificateSigningRequest, ({ current, type }) => {
          if (type !== 'deleted') return current.name
          waits.delete(current.name)
          return undefined
        }),
      ],
      async reconcile(key) {
        const request = requests.get(namedBy(key))
        const recognitions = request ? recognitionsOf(request) : []
        const wait = waits.get(key) ?? FIRST_LOOK_MS
        waits.delete(key)
        if (recognitions.length === 0) return undefined
        for (const { subresource, message } of recognitions) {
          if (!(await may(request!, subresource))) continue
          await requests.update({ ...request!, status: approvedStatus(request!, message) }, { subresource: 'approval' })
          return undefined
        }
        waits.set(key, Math.min(wait * 2, LAST_LOOK_MS))
        return wait
      },
    }
  },
})
