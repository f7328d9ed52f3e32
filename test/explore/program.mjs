// A controller as a process of its own: it makes a Secret for each ConfigMap with the label role=claim, and notes its name there.
import { setTimeout as sleep } from 'node:timers/promises'
import { send } from './send.mjs'

const MAPS = '/api/v1/namespaces/default/configmaps'
const SECRETS = '/api/v1/namespaces/default/secrets'

async function reconcile() {
  const { status, body } = await send('GET', `${MAPS}?labelSelector=role%3Dclaim`)
  if (status !== 200) return
  for (const { metadata } of JSON.parse(body).items) {
    if (metadata.annotations?.secret) continue
    // A name that is generated anew for each attempt is the mistake.
    const named = process.argv[2] === 'fixed' ? { name: `${metadata.name}-secret` } : { generateName: `${metadata.name}-` }
    const made = await send('POST', SECRETS, { metadata: named })
    if (made.status !== 201 && made.status !== 409) continue
    const secret = made.status === 409 ? named.name : JSON.parse(made.body).metadata.name
    await send('PATCH', `${MAPS}/${metadata.name}`, { metadata: { annotations: { secret } } }, 'application/merge-patch+json')
  }
}

for (;;) {
  await reconcile().catch(() => {})
  await sleep(20)
}
