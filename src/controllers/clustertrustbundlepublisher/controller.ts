/** Publishes the certificate authority of the server as the trust bundle of its signer. */
import { ClusterTrustBundle } from '../../kinds/certificates/clustertrustbundle.ts'
import { defineController, watch } from '../controller.ts'
import { reconcileBundles, SIGNER, trustAnchors } from './reconcile.ts'

const KEY = 'bundle'

/** `authority` is in PEM. */
export const clusterTrustBundlePublisher = (authority: string) =>
  defineController({
    name: 'kube-apiserver-serving-clustertrustbundle-publisher-controller',
    identity: 'kube-apiserver-serving-clustertrustbundle-publisher',
    create({ client, enqueue }) {
      const bundles = client.of(ClusterTrustBundle)
      const trustBundle = trustAnchors(authority)
      if (trustBundle !== '') enqueue(KEY)
      return {
        watches: [
          watch(ClusterTrustBundle, ({ current }) =>
            current.fields['spec.signerName'] === SIGNER && trustBundle !== '' ? KEY : undefined,
          ),
        ],
        async reconcile() {
          const stored = [...bundles.list({ field: { key: 'spec.signerName', value: SIGNER } })]
          const { create, update, remove } = reconcileBundles(trustBundle, stored)
          if (create) await bundles.create(create)
          if (update) await bundles.update(update)
          for (const old of remove) await bundles.delete(old)
        },
      }
    },
  })
