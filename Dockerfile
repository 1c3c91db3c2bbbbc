# The service of drag-graph (docs/how-to/clients.md): docker build -t drag-graph .
#
# /data has the embedded store and the ledger, /models the models: both are volumes. `drag-graph keys add NAME` makes a key, which the
# service needs before its first start.

FROM python:3.13-slim AS build
# What the service can do: `local` runs models of transformers in this process, `gguf` those of llama.cpp, `privacy` guards remote ones.
ARG EXTRAS=service,minilm,documents
WORKDIR /src
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY drag_graph drag_graph
COPY cli cli
COPY cypher cypher
COPY migrations migrations
RUN python -m venv /opt/drag-graph \
    && /opt/drag-graph/bin/pip install --no-cache-dir --constraint constraints.txt ".[${EXTRAS}]"

FROM python:3.13-slim
RUN useradd --uid 10001 --user-group --no-create-home --home-dir /data --shell /usr/sbin/nologin drag-graph \
    && install --directory --owner drag-graph --group drag-graph /data /models
COPY --from=build /opt/drag-graph /opt/drag-graph
ENV PATH=/opt/drag-graph/bin:$PATH \
    DRAG_GRAPH_STORE=/data/graph.lbug \
    HF_HOME=/models/huggingface
USER 10001
WORKDIR /data
VOLUME ["/data", "/models"]
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8080/health', timeout=4)"]
ENTRYPOINT ["drag-graph"]
CMD ["serve", "--host", "0.0.0.0", "--behind-proxy", "--port", "8080"]
