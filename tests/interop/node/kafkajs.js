// kafkajs as a servant of the Python tests: its producer, its consumer and its admin client.
//
// The commands are those of ../go/main.go; its consumer is a new group's only member each time.
'use strict';

const { Kafka, CompressionCodecs, CompressionTypes, ConfigResourceTypes, logLevel } = require('kafkajs');
const { readRecords, writeConsumed, writeOffsets } = require('./records');
const { serve } = require('./servant');

CompressionCodecs[CompressionTypes.Snappy] = require('kafkajs-snappy');

const CODECS = { none: CompressionTypes.None, gzip: CompressionTypes.GZIP, snappy: CompressionTypes.Snappy };
const BATCH_RECORDS = 500;

function connect(bootstrap) {
  return new Kafka({ clientId: 'interop', brokers: [bootstrap], logLevel: logLevel.ERROR });
}

// kafkajs keeps headers in an object, with the values of one key in a list.
function together(headers) {
  const found = {};
  for (const [key, value] of headers) (found[key] ??= []).push(value);
  return found;
}

async function produce(bootstrap, topic, source, target, ...options) {
  const how = Object.fromEntries(options.map((option) => option.split('=')));
  const idempotent = how.idempotent === 'true';
  const producer = connect(bootstrap).producer({
    idempotent,
    maxInFlightRequests: 1,
    createPartitioner: () => ({ message }) => message.partition,
  });
  const records = readRecords(source).map((record) => ({ ...record, headers: together(record.headers) }));
  const offsets = new BigInt64Array(records.length).fill(-1n);
  await producer.connect();
  try {
    for (let first = 0; first < records.length; first += BATCH_RECORDS) {
      const batch = records.slice(first, first + BATCH_RECORDS);
      const answers = await producer.send({
        topic,
        messages: batch,
        acks: Number(how.acks),
        compression: CODECS[how.codec],
      });
      for (const { partition, baseOffset } of how.acks === '0' ? [] : answers) {
        let offset = BigInt(baseOffset);
        batch.forEach((record, i) => {
          if (record.partition === partition) offsets[first + i] = offset++;
        });
      }
    }
  } finally {
    await producer.disconnect();
  }
  writeOffsets(target, [...offsets]);
  return '';
}

async function consume(bootstrap, topic, count, start, target) {
  const consumer = connect(bootstrap).consumer({ groupId: `reader-of-${topic}-${process.hrtime.bigint()}` });
  await consumer.connect();
  try {
    await consumer.subscribe({ topics: [topic], fromBeginning: true });
    const found = await new Promise((resolve, reject) => {
      const records = [];
      consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error));
      const eachMessage = async ({ partition, message }) => {
        records.push({ ...message, partition, headers: apart(message.headers) });
        if (records.length === Number(count)) resolve(records);
      };
      consumer.run({ eachMessage }).catch(reject);
      // Taken up once the group has given the partitions.
      for (const word of start.split(',')) {
        const [partition, offset] = word.split(':');
        consumer.seek({ topic, partition: Number(partition), offset });
      }
    });
    writeConsumed(target, found);
  } finally {
    await consumer.disconnect();
  }
  return '';
}

function apart(headers) {
  return Object.entries(headers ?? {}).flatMap(([key, some]) => [some].flat().map((value) => [key, value]));
}

async function withAdmin(bootstrap, work) {
  const admin = connect(bootstrap).admin();
  await admin.connect();
  try {
    return await work(admin);
  } finally {
    await admin.disconnect();
  }
}

async function offsetsForTime(bootstrap, topic, _partitions, timestamp) {
  const found = await withAdmin(bootstrap, async (admin) => ({
    byTime: await admin.fetchTopicOffsetsByTimestamp(topic, Number(timestamp)),
    ends: await admin.fetchTopicOffsets(topic),
  }));
  // Where no record is that late, kafkajs answers the end offset.
  const end = new Map(found.ends.map(({ partition, high }) => [partition, high]));
  return found.byTime
    .sort((one, other) => one.partition - other.partition)
    .map(({ partition, offset }) => `${partition}:${offset === end.get(partition) ? -1 : offset}`)
    .join(' ');
}

async function offsetRange(bootstrap, topic) {
  const found = await withAdmin(bootstrap, (admin) => admin.fetchTopicOffsets(topic));
  return found
    .sort((one, other) => one.partition - other.partition)
    .map(({ partition, low, high }) => `${partition}:${low}:${high}`)
    .join(' ');
}

// What an administrator does with one topic; the answer is JSON.
async function administer(bootstrap, topic) {
  return withAdmin(bootstrap, async (admin) => {
    const wanted = {
      topic, numPartitions: 2, replicationFactor: 1, configEntries: [{ name: 'retention.ms', value: '3600000' }],
    };
    const resource = { type: ConfigResourceTypes.TOPIC, name: topic };
    const config = async () => {
      const { resources } = await admin.describeConfigs({ resources: [{ ...resource, configNames: ['retention.ms'] }] });
      return resources[0].configEntries[0].configValue;
    };
    const partitions = async () => {
      const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
      return topics[0].partitions.length;
    };
    const listed = async () => (await admin.listTopics()).includes(topic);
    const saw = {
      created: await admin.createTopics({ topics: [wanted] }),
      again: (await admin.createTopics({ topics: [wanted] })) ? 'made' : 'exists',
      partitions: await partitions(),
      configured: await config(),
    };
    await admin.alterConfigs({ resources: [{ ...resource, configEntries: [{ name: 'retention.ms', value: '7200000' }] }] });
    saw.altered = await config();
    await admin.createPartitions({ topicPartitions: [{ topic, count: 3 }] });
    saw.grown = await partitions();
    saw.listed = await listed();
    await admin.deleteTopics({ topics: [topic] });
    saw.left = await listed();
    return JSON.stringify(saw);
  });
}

async function cluster(bootstrap) {
  const { clusterId, brokers } = await withAdmin(bootstrap, (admin) => admin.describeCluster());
  return `${clusterId} ${brokers.length}`;
}

process.env.KAFKAJS_NO_PARTITIONER_WARNING = '1';
serve({ produce, consume, 'offsets-for-time': offsetsForTime, 'offset-range': offsetRange, administer, cluster });
