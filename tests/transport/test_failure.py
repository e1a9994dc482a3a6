"""What Spark says at length has one sentence that matters."""

from __future__ import annotations

import pytest

from ivm.spark.failure import root_cause

PYTHON = """\
An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "/opt/ivm/spark/worker.py", line 118, in __call__
    messages, status = named(self.task)(self.order, shard, self.level, payloads)
KeyError: 'first'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/opt/ivm/cluster/shard/copies.py", line 7, in task
    raise StorageError(message)
ivm.catalog.errors.StorageError: cannot read s3://b/log/7: it is cut off
at byte 100
 SQLSTATE: 38000
\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(PythonRunner.scala:1097)
"""
STARTED = """\
An error occurred while calling o193.collectToPython.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 1.0 failed 1 times: org.apache.spark.SparkException: 
Error from python worker:
{}
PYTHONPATH was:
  /opt/spark/python/lib/pyspark.zip
org.apache.spark.SparkException: EOFException occurred while reading the port number from ivm.spark.daemon's stdout{}.
\tat org.apache.spark.errors.SparkCoreErrors$.eofExceptionWhileReadPortNumberError(SparkCoreErrors.scala:55)
"""  # noqa: W291
NO_MODULE = (
    "  /usr/bin/python3: Error while finding module specification for '{}' (ModuleNotFoundError: No module named '{}')"
)
IMPORTS = """\
  Traceback (most recent call last):
    File "/opt/ivm/spark/daemon.py", line 23, in main
      import_module(name)
  {}"""
JAVA = """\
Job aborted due to stage failure: Task 0 in stage 3.0 failed 4 times, most recent failure: {}
\tat org.apache.spark.scheduler.DAGScheduler.failJobAndIndependentStages(DAGScheduler.scala:2856)
"""


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        (PYTHON, "StorageError: cannot read s3://b/log/7: it is cut off\nat byte 100"),
        ("Traceback (most recent call last):\n  x\nModuleNotFoundError: No module named 'ivm'",
         "No module named 'ivm' on a worker; install it, as on the driver, on every machine"),
        ("Traceback (most recent call last):\n  x\nRuntimeError: a worker on h has ivm 1", "a worker on h has ivm 1"),
        (JAVA.format("org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)"), "a Python worker died"),
        (STARTED.format(NO_MODULE.format("ivm.spark.daemon", "ivm"), ""),
         "No module named 'ivm' on a worker; install it, as on the driver, on every machine: ivm-engine and what it needs, in the Python"),
        (STARTED.format(NO_MODULE.format("ivm.spark.daemon", "ivm.spark"), ""),
         "No module named 'ivm.spark' on a worker, which has another release of ivm than the driver; install the driver's"),
        (STARTED.format("  /usr/bin/python3: No module named my.daemon", ""), "No module named 'my.daemon' on a worker; install it"),
        (STARTED.format(IMPORTS.format("ModuleNotFoundError: No module named 'numba'"), " and terminated with code: 1."),
         "No module named 'numba' on a worker; install it, as on the driver, on every machine: ivm-engine and what it needs, in the Py"),
        (STARTED.format(IMPORTS.format("ImportError: libm.so.6: no such file"), ""), "ImportError: libm.so.6: no such file"),
        (STARTED.format("  Fatal Python error: no home", ""), "Python does not start on a worker: Fatal Python error: no home"),
        (STARTED.format("", ""), "ivm.spark.daemon ends as soon as it is started on a worker, whose log says why; see that ivm"),
        (STARTED.format("  a warning", " and terminated with code: 137."), "a Python worker died each time it was tried, most"),
        (PYTHON.replace("ivm.catalog.errors.StorageError: cannot read s3://b/log/7: it is cut off",
                        "AttributeError: Can't get attribute 'Round' on <module 'ivm.spark.worker' from 'x'>"),
         "Can't get attribute 'Round' on <module 'ivm.spark.worker' from 'x'> of a worker, which has another release of ivm"),
        (JAVA.format('java.io.IOException: Cannot run program "/no/python": error=2, No such file or directory')
         + "Caused by: java.io.IOException: error=2, No such file or directory",
         "there is no Python at /no/python on a worker; install it on every machine, or let PYSPARK_PYTHON"),
        (JAVA.format("ExecutorLostFailure (executor 1 exited caused by one of the running tasks)"), "executors were lost"),
        ("Job 7 cancelled because SparkContext was shut down", "the Spark session was stopped"),
        ("Job 7 cancelled part of cancelled job group 3", "the job was cancelled"),
        ("first line\n\tat a.b(C.java)\nCaused by: java.io.IOException: No space left on device\n\tat d.e(F.java)",
         "java.io.IOException: No space left on device"),
        ("An error occurred while calling o7.collectToPython.\n: org.apache.spark.SparkException: Job 3 is lost\n\tat a.b(C)",
         "org.apache.spark.SparkException: Job 3 is lost"),
        ("one line", "one line"),
        ("", "Spark says nothing about it"),
    ],
)  # fmt: skip
def test_the_root_cause(said, cause):
    assert root_cause(said).startswith(cause)
    assert "\tat " not in root_cause(said)
