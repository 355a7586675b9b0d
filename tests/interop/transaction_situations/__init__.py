"""Conversations of transactional producers, played with Barnabas and with Apache Kafka.

talk.py is how they speak, fencing.py, writing.py and offsets.py are what they say, play.py plays them and
keeps what Apache Kafka answered.
"""
